"""Encrypts messages with pywebpush (PyPI) as a sender does, and writes what a receiver needs to open them.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install pywebpush
    /tmp/venv/bin/python make-vectors.py > pywebpush.json
"""

import base64
import json
import os
from importlib.metadata import version

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

import pywebpush

TEXTS = ["a", "Hello", '{"title": "Nice!", "body": "Mina likes your run"}', "영희 🎉\n" * 40, "x" * 3993]


def text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def vector(content: str) -> dict[str, str]:
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    auth = os.urandom(16)
    subscription = {"endpoint": "https://push.example/x", "keys": {"p256dh": text(public), "auth": text(auth)}}
    body = pywebpush.WebPusher(subscription).encode(content.encode())["body"]
    return {
        "private": text(key.private_numbers().private_value.to_bytes(32, "big")), "public": text(public),
        "auth": text(auth), "message": text(body), "text": content,
    }


print(json.dumps({
    "made with": {name: version(name) for name in ["pywebpush", "http_ece", "cryptography"]},
    "vectors": [vector(content) for content in TEXTS],
}, indent=1, ensure_ascii=False))
