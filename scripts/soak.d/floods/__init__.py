"""Floods, one file for each kind. A file has LANES, how many go on at once; PAUSE, the seconds between two attacks of a lane; and `attack`, one of them."""

FLOODS = {
    "strangers-unread": ("unread", "connections that pipeline requests and never read an answer, on all three ports", 0),
    "strangers-slow": ("slow", "request heads that arrive a byte at a time", 0),
    "strangers-sign-in": ("sign_ins", "sign-ins with random names and passwords", 0),
    "strangers-garbage": ("garbage", "malformed SASL messages and handshakes", 0),
    "analysts-backlog": ("backlog", "analysts who send 40 different questions at once, again and again", 2),
    "analysts-names": ("names", "statements and portals with names of 1 MB", 2),
    "analysts-spellings": ("spellings", "one large free answer in ever new spellings", 2),
    "analysts-patterns": ("patterns", "LIKE and regular expressions over repeated text in the system catalogs", 2),
    "analysts-explain": ("explains", "explain with 400 columns, and hanging up", 2),
}
"""By name: the file, what it does, and how many accounts it has."""
