"""Guess the legacy encoding of bytes that are not UTF-8.

Every candidate is read as a small language model: how many bits would a text in it need to come out as these bytes?
The fewest bits win, and the distance to the second is the confidence. This works from about four characters on, where
detectors that look for letter statistics alone do not.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import log2

#: Most frequent characters of running text, by language. Order does not matter.
_HANS = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如"
    "都同现当没动面起看定天分还进好小部其些主样理心本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由"
    "问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论"
    "处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治"
    "展马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导"
    "争运笔测试加速章节版本说明文件数据系统项目用户配置"
)
_HANT = (
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家種事成方多經麼去法學如"
    "都同現當沒動面起看定天分還進好小部其些主樣理心本前開但因只從想實日軍者意無力它與長把機十民第公此已工使情明性知全三又關點正業外將兩高間由"
    "問很最重並物手應戰向頭文體政美相見被利什二等產或新己制身果加西斯月話合回特代內信表化老給世位次度門任常先海通教兒原東聲提立及比員解水名真論"
    "處走義各入幾口認條平系氣題活爾更別打女變四神總何電數安少報才結反受目太量再感建務做接必場件計管期市直德資命山金指克許統區保至隊形社便空決治"
    "展馬科司五基眼書非則聽白卻界達光放強即像難且權思王象完設式色路記南品住告類求據程北邊死張該交規萬取拉格望覺術領共確傳師觀清今切院讓識候帶導"
    "爭運測試檔案資料系統專案使用者設定"
)
_HIRAGANA = "".join(map(chr, range(0x3041, 0x3094)))
_KATAKANA = "".join(map(chr, range(0x30A1, 0x30F7))) + "ー・"
_KANJI = (
    "日一国会人年大十二本中長出三同時政事自行社見月分議後前民生連五発間対上部東者党地合市業内相方四定今回新場金員九入選立開手米力学問高代明実円関"
    "決子動京全目表戦経通外最言氏現理調体化田当八六約主題下首意法不来作性的要用制治度務強気小七成期公野協取都和統以機平総加山思家話世受区領多県続進"
    "正安設保改数記院女初北午指権心界支第産結百派点教報済書府活原先共得解名交資予川向際査勝面委告軍文反元重近千考判認画海参売利組知案道信策集在件団"
    "別物側任引使求所次水半品昨論計死官増係感特情投示変打男基私各始島直両朝革価式確村提運終挙果西勢減台広容必応演電歳住争談能無再位置企真流格有疑口"
)
_HANGUL = (
    "이다는의에을가고하지한로사기를은도나어인서리시자그대일있해들아수정보라부만스전면원것상주과제장게으여동구니성조오비마적러안우신공소국연경거세요무유없"
    "김까교말산선화미업되문방관민파계행단속위통실내차생데모관내저때분당예드진와발중해한심양회개음료려간번트물재배히호명남년반건후최월금치함타입영각할식"
)
_HALF_KATAKANA = "".join(map(chr, range(0xFF66, 0xFF9F)))
_CJK_MARKS = "，。、；：？！“”‘’（）《》【】「」『』…—·～〈〉　１２３４５６７８９０"

#: Single-byte encodings by language: letters beyond ASCII, the most frequent first. Capitals are added.
_LETTERS: tuple[tuple[str, str], ...] = (
    ("cp1252", "éàèêçôâîùûëïœ"),  # French
    ("cp1252", "äüößéà"),  # German
    ("cp1252", "óáíéñúü"),  # Spanish
    ("cp1252", "ãçáéóíêâúõàô"),  # Portuguese
    ("cp1252", "àèéòùì"),  # Italian
    ("cp1252", "äöåøæéü"),  # Nordic
    ("cp1252", "áðíéóþæúöý"),  # Icelandic
    ("cp1252", "éëïöóèüê"),  # Dutch
    ("cp1250", "łąęóżśćńź"),  # Polish
    ("cp1250", "íáěéčřžýšůúťďňó"),  # Czech
    ("cp1250", "áíčéšžýľúťôňäďó"),  # Slovak
    ("cp1250", "áéöóőüíúű"),  # Hungarian
    ("cp1250", "ăîşţâșț"),  # Romanian
    ("cp1250", "čšžćđ"),  # Croatian, Slovene
    ("cp1254", "ıişçüğöâîûİ"),  # Turkish
    ("cp1257", "ėšžįųūąčę"),  # Lithuanian
    ("cp1257", "āīēšņļūķžčģ"),  # Latvian
    ("cp1257", "äõöüšž"),  # Estonian
    ("cp1251", "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё"),  # Russian
    ("cp1251", "оаинвітерсклудмпязьбгйчхцжїшюєфщґё"),  # Ukrainian
    ("cp1251", "аиоентрсвлдпкмзбугъчцяйщжюхшфь"),  # Bulgarian
    ("koi8_r", "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё"),
    ("koi8_u", "оаинвітерсклудмпязьбгйчхцжїшюєфщґё"),
    ("cp866", "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё"),
    ("cp1253", "αοιετσνηυρπκμλςίόάέωήδγχθφύβξζψώ"),
    ("cp1255", "יוהלארתבשמנקםדעחפגצטכזןסףךץ"),
    ("cp1256", "اليمونتربةعدسفهكقأحجشطصخإىذثضزئءظغآؤ،"),  # Arabic
    ("cp1256", "ایرندمهوتبسشکزلگفقخپحعجصطآچضذژغثظ"),  # Persian
    ("cp874", "านรกอเง่มยลว้ดทสตะปบคหแจพชขใไผูโุีิ์ำัื็ถซณฟศษฐ"),
)
_MARKS = "，。、；：？！“”‘’（）《》【】「」『』…—·～〈〉　１２３４５６７８９０"

_COMMON: dict[str, tuple[str, str]] = {
    # encoding: (very frequent, frequent) letters; the rest of the encoding is rare
    "cp1252": ("éèàçêôîùâëïüöäßñáíóúãõåøæ", "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜìòûýœŒšžŠŽÿðþÝÞÐ"),
    "cp1250": ("ąćęłńóśźżáčďéěíňřšťúůýžôľäőűăâîșțđöüşţ", "ĄĆĘŁŃÓŚŹŻÁČĎÉĚÍŇŘŠŤÚŮÝŽÔĽÄŐŰĂÂÎĐÖÜŞŢçëß"),
    "cp1254": ("ğıişçöüâîûİ", "ĞŞÇÖÜÂÎÛéèàáäñßôê"),
    "cp1257": ("āčēģīķļņšūžąęėįųõäöü", "ĀČĒĢĪĶĻŅŠŪŽĄĘĖĮŲÕÄÖÜóé"),
    "cp1251": ("абвгдежзийклмнопрстуфхцчшщъыьэюяіїєёґ", "АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯІЇЄЁҐ№ўјљњћђџ"),
    "koi8_r": ("абвгдежзийклмнопрстуфхцчшщъыьэюяё", "АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯЁ"),
    "cp866": ("абвгдежзийклмнопрстуфхцчшщъыьэюяё", "АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯЁ№"),
    "cp1253": ("αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώ", "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩΆΈΉΊΌΎΏϊϋΐΰ"),
    "cp1255": (
        "אבגדהוזחטיךכלםמןנסעףפץצקרשת",
        "\u05b0\u05b1\u05b2\u05b3\u05b4\u05b5\u05b6\u05b7\u05b8\u05b9\u05bb\u05bc\u05c1\u05c2₪",
    ),
    "cp1256": ("ابتثجحخدذرزسشصضطظعغفقكلمنهويةىءأإآؤئ،؟", "پچژگہےںکی؛\u064b\u064c\u064d\u064e\u064f\u0650\u0651\u0652ـ"),
    "cp874": ("".join(map(chr, [*range(0x0E01, 0x0E3B), *range(0x0E40, 0x0E4F)])), "฿๏๐๑๒๓๔๕๖๗๘๙"),
    "cp1258": ("ăâđêôơưàáéèíìóòúùýãõ\u0300\u0301\u0303\u0309\u0323", "ĂÂĐÊÔƠƯÀÁÉÈÍÓÚÝ"),
}
_MARKS = "’‘“”–—…«»°§·€„©®™•\xa0£№½²¡¿"
_LATIN = frozenset({"cp1252", "cp1250", "cp1254", "cp1257"})
_UTF16 = ("utf-16-le", "utf-16-be")
_WIDE = ("gb18030", "cp950", "cp932", "euc_jp", "cp949", "big5hkscs")

_NARROW = tuple(dict.fromkeys(name for name, _ in _LETTERS))

#: Bits that an encoding costs before any text is seen: the rarer, the more proof it needs.
_PRIOR = {
    "cp1252": -2,
    "cp1254": 6,
    "cp1257": 4,
    "cp874": 4,
    "cp1250": 3,
    "cp866": 10,
    "koi8_r": 4,
    "koi8_u": 8,
    "big5hkscs": 6,
    "euc_jp": 4,
}
_PRIOR |= dict.fromkeys(_UTF16, 6)
_ASCII_BITS = 5.5
_WORST_BITS = 28.0
_CUT_BITS = 12.0
#: Mean bits for each non-ASCII byte above which no candidate is believable: measured real text stays below 8.
_BELIEVABLE = 9.5
#: Mean bits for each character of UTF-16 above which the bytes are something else.
_UTF16_BELIEVABLE = 12.0
_SURE_BITS = 20.0
_SAMPLE = 32 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """An encoding by its Python name and how sure it is, 0 to 1."""

    encoding: str
    confidence: float


def guess_encoding(data: bytes) -> list[Guess]:
    """Return the believable encodings of bytes that are neither ASCII nor UTF-8, best first; may be empty."""
    sample = _sample(data)
    foreign = max(1, sum(byte > 0x7F for byte in sample))
    bits = {name: cost for name in (*_WIDE, *_NARROW) if (cost := _bits(name, sample)) is not None}
    ascii_bits = _ASCII_BITS * (len(sample) - foreign)
    if len(data) % 2 == 0:
        bits |= {name: cost for name in _UTF16 if (cost := _bits(name, data[:_SAMPLE])) is not None}
    believable = [name for name in bits if (bits[name] - ascii_bits) / foreign <= _BELIEVABLE or name in _UTF16]
    return [
        Guess(encoding=name, confidence=_confidence(name, sample, bits))
        for name in sorted(believable, key=lambda name: bits[name])
    ]


def guess_utf16(data: bytes) -> str | None:
    """Return the byte order of bytes that are UTF-16 without a mark, or None when they cannot be."""
    sample = data[:_SAMPLE]
    bits = {name: cost for name in _UTF16 if (cost := _bits(name, sample)) is not None}
    best = min(bits, key=lambda name: bits[name], default=None)
    return best if best is not None and bits[best] * 2 / len(sample) <= _UTF16_BELIEVABLE else None


def _sample(data: bytes) -> bytes:
    first = next((match.start() for match in re.finditer(rb"[\x80-\xff]", data)), 0)
    start = max(data.rfind(b"\n", 0, first) + 1, first - 200, 0)
    return data[start : start + _SAMPLE]


def _decode(encoding: str, sample: bytes) -> tuple[str, float] | None:
    """Decode strictly; returns the text and the bits for a character that is cut at the end of the file."""
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        text = decoder.decode(sample)
    except UnicodeDecodeError:
        return None
    return text, (_CUT_BITS * len(decoder.getstate()[0]) if len(sample) < _SAMPLE else 0.0)


def _bits(encoding: str, sample: bytes) -> float | None:
    decoded = _decode(encoding, sample)
    if decoded is None:
        return None
    text, cut = decoded
    cost = cut + _PRIOR.get(encoding, 0)
    if encoding in _NARROW:
        return (
            cost + _odd_words(encoding, text) + min(_text_bits(text, costs, 14.0) for costs in _narrow_costs(encoding))
        )
    return cost + _text_bits(text, _utf16_costs() if encoding in _UTF16 else _wide_costs(encoding), 20.0)


def _text_bits(text: str, costs: dict[str, float], rare: float) -> float:
    return sum(count * _cost(char, costs, rare) for char, count in Counter(text).items())


def _cost(char: str, costs: dict[str, float], rare: float) -> float:
    if char < "\x80":
        return _ASCII_BITS if char >= " " or char in "\t\n\r\f" else _WORST_BITS
    found = costs.get(char)
    if found is not None:
        return found
    return _WORST_BITS if char < "\xa0" or "\ue000" <= char <= "\uf8ff" or char > "\uffff" else rare


def _odd_words(encoding: str, text: str) -> float:
    """Return the bits for words that look wrong: capitals inside, two scripts, or accents in a row."""
    bits = 0.0
    for before, after in pairwise(text):
        if before.isalpha() and after.isalpha():
            foreign = (before > "\x7f") + (after > "\x7f")
            bits += 6.0 * (before.islower() and after.isupper() and foreign > 0)
            if encoding in _LATIN:
                bits += 4.0 * (foreign == 2)
            else:
                bits += 8.0 * (foreign == 1)
        elif before.isalpha() and after > "\xa0" and after not in _MARKS and encoding in _LATIN:
            bits += 4.0
    return bits


def _confidence(encoding: str, sample: bytes, bits: dict[str, float]) -> float:
    text = _decode(encoding, sample)
    rivals = [cost for name, cost in bits.items() if name != encoding and _decode(name, sample) != text]
    margin = min(rivals, default=bits[encoding] + _SURE_BITS) - bits[encoding]
    return round(max(0.0, min(0.99, 0.5 + margin / _SURE_BITS / 2)), 2)


@cache
def _narrow_costs(encoding: str) -> tuple[dict[str, float], ...]:
    return tuple(_language_costs(letters) for name, letters in _LETTERS if name == encoding)


def _language_costs(letters: str) -> dict[str, float]:
    scale = log2(len(letters))
    costs = {letter: scale - 1 + 3 * rank / len(letters) for rank, letter in enumerate(letters)}
    capitals = {letter.upper(): cost + 4 for letter, cost in costs.items() if len(letter.upper()) == 1}
    return dict.fromkeys(_MARKS, 8.5) | capitals | costs


@cache
def _wide_costs(encoding: str) -> dict[str, float]:
    costs = dict.fromkeys(_first_level(encoding), 13.0) | dict.fromkeys(_CJK_MARKS, 8.5)
    if encoding in {"cp932", "euc_jp"}:
        kana = dict.fromkeys(_KATAKANA, 9.7) | dict.fromkeys(_HIRAGANA, 7.4) | dict.fromkeys(_HALF_KATAKANA, 8.0)
        return costs | dict.fromkeys(_KANJI, 10.5) | kana
    often = {"gb18030": _HANS, "cp949": _HANGUL}.get(encoding, _HANT)
    return costs | dict.fromkeys(often, 8.5)


@cache
def _utf16_costs() -> dict[str, float]:
    costs: dict[str, float] = {}
    for encoding in _NARROW:
        for language in _narrow_costs(encoding):
            costs |= language
    for encoding in reversed(_WIDE):
        costs |= _wide_costs(encoding)
    return costs


def _first_level(encoding: str) -> str:
    """Return the characters that the makers of an encoding put first: those in common use."""
    standard, first, last = {
        "gb18030": ("gb2312", 0xB0, 0xD7),
        "cp950": ("big5", 0xA4, 0xC6),
        "big5hkscs": ("big5", 0xA4, 0xC6),
        "cp932": ("shift_jis", 0x88, 0x97),
        "euc_jp": ("euc_jp", 0xB0, 0xCF),
        "cp949": ("euc_kr", 0xB0, 0xC8),
    }[encoding]
    pairs = (bytes((row, cell)) for row in range(first, last + 1) for cell in range(0x40, 0xFF))
    return "".join(text for pair in pairs if len(text := pair.decode(standard, errors="ignore")) == 1)
