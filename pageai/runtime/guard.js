// Stands before every tool call of an agent: no tool but those of people's files and MNote's own, and no path that
// leads out of the folder, by whatever link. opencode itself compares paths as text and follows links.
import fs from "node:fs"
import path from "node:path"

const TOOLS = new Set([
  "read", "glob", "grep", "list", "edit", "write", "multiedit", "patch", "apply_patch",
  "todowrite", "todoread", "question", "skill", "invalid",
])
const OURS = /^kb_[a-z0-9]+_mnote_/
const PATHS = new Set(["filepath", "path", "file", "directory", "dir", "cwd", "workdir"])
const IN_PATCH = /^\*\*\* (?:Add File|Update File|Delete File|Move to): (.*)$/gm

// The nearest thing that is there decides, also for a file that is yet to be made; a link to nothing counts as out.
function real(place) {
  for (let at = place; ; at = path.dirname(at)) {
    try {
      fs.lstatSync(at)
    } catch {
      if (at === path.dirname(at)) return at
      continue
    }
    return fs.realpathSync(at)
  }
}

function* paths(args) {
  for (const [name, value] of Object.entries(args ?? {})) {
    if (typeof value !== "string") continue
    if (PATHS.has(name.toLowerCase())) yield value
    if (name === "patchText") for (const found of value.matchAll(IN_PATCH)) yield found[1].trim()
  }
}

export const MNoteGuard = async ({ directory }) => {
  const root = fs.realpathSync(directory)
  if (root === process.env.MNOTE_GUARD_ROOT) fs.writeFileSync(process.env.MNOTE_GUARD_SIGN, root, { mode: 0o600 })
  const isInside = (given) => {
    const found = real(path.resolve(directory, given))
    return found === root || found.startsWith(root + path.sep)
  }
  return {
    "tool.execute.before": async (input, output) => {
      if (root !== process.env.MNOTE_GUARD_ROOT) throw new Error("This folder is not open here.")
      if (OURS.test(input.tool)) return
      if (!TOOLS.has(input.tool)) throw new Error("This tool is not available here.")
      for (const given of paths(output.args)) {
        if (!isInside(given)) throw new Error("This path leads out of the folder.")
      }
    },
  }
}
