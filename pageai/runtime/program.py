"""How an opencode of one person and one root is started: its command, its environment, its fence. Pure.

Facts of opencode 1.18: the folder's own configuration, plugins and skills are read unless the environment says no; it
asks registries for packages unless npm is offline; its password comes by the environment.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

_SYSTEM = ("/lib", "/lib64", "/bin", "/sbin", "/etc/resolv.conf", "/etc/hosts", "/etc/ssl", "/etc/passwd", "/etc/group")
_PROBE_SECONDS = 10
_OFF = (
    "OPENCODE_DISABLE_PROJECT_CONFIG",
    "OPENCODE_DISABLE_EXTERNAL_SKILLS",
    "OPENCODE_DISABLE_CLAUDE_CODE",
    "OPENCODE_DISABLE_MODELS_FETCH",
    "OPENCODE_DISABLE_AUTOUPDATE",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS",
    "OPENCODE_DISABLE_LSP_DOWNLOAD",
    "OPENCODE_DISABLE_SHARE",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One program to start. `home` is its private folder, `root` the folder it works in. `may_write` says whether the
    fence lets it change the root. The password is left out of `repr` and of the command line."""

    program: str
    root: str
    home: Path
    port: int
    password: str = field(repr=False)
    may_write: bool = False
    is_fenced: bool = False

    @property
    def sign(self) -> Path:
        """The file that the guard makes when it stands before the tools of this root."""
        return self.home / "guard.sign"

    @property
    def command(self) -> list[str]:
        serving = [self.program, "serve", "--hostname", "127.0.0.1", "--port", str(self.port)]
        return [*_fence(self), "--", *serving] if self.is_fenced else serving

    @property
    def environment(self) -> Mapping[str, str]:
        """Nothing of ours is passed on: what is not named here, it does not have."""
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": os.environ.get("LANG", "C.UTF-8"),
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / "xdg"),
            "XDG_DATA_HOME": str(self.home / "data"),
            "XDG_CACHE_HOME": str(self.home / "cache"),
            "XDG_STATE_HOME": str(self.home / "state"),
            "TMPDIR": str(self.home / "tmp"),
            "OPENCODE_CONFIG_DIR": str(self.home / "config"),
            "OPENCODE_SERVER_PASSWORD": self.password,
            "MNOTE_GUARD_ROOT": os.path.realpath(self.root),
            "MNOTE_GUARD_SIGN": str(self.sign),
            "npm_config_offline": "true",
            "npm_config_registry": "http://127.0.0.1:9/",
            **dict.fromkeys(_OFF, "1"),
        }


def find_program(name: str) -> str:
    """Return the absolute path of the program that settings name; "" when it is not there."""
    found = shutil.which(os.path.expanduser(name)) if name else None  # noqa: PTH111 `which` takes text
    return str(Path(found).resolve()) if found else ""


@lru_cache(maxsize=1)
def can_fence() -> bool:
    """Say whether bubblewrap is there and the system lets it work."""
    fence = shutil.which("bwrap")
    if fence is None:
        return False
    tried = [fence, "--ro-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "--dev", "/dev", "--", "/bin/true"]
    try:
        done = subprocess.run(tried, capture_output=True, timeout=_PROBE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _fence(launch: Launch) -> list[str]:
    """The root at its own path, the private folder, the programs of the system to read, and nothing else of the disk.
    The network stays: the model and MNote's tools are asked over it."""
    program = str(Path(launch.program).resolve().parent)
    options = ["bwrap", "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--new-session"]
    options += ["--ro-bind", "/usr", "/usr"]
    for path in _SYSTEM:
        options += ["--ro-bind-try", path, path]
    options += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]  # noqa: S108 inside the fence
    options += ["--ro-bind", program, program, "--bind", str(launch.home), str(launch.home)]
    return [*options, "--bind" if launch.may_write else "--ro-bind", launch.root, launch.root, "--chdir", launch.root]
