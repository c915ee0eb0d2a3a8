"""A distributor of UnifiedPush that behaves as KUnifiedPush does, with its push server inside.

It acknowledges a message to the push server only after the connector has answered, delivers again after it has connected again,
forgets connectors that the bus cannot start, and keeps what it knows in a file. Tests control it by org.notifyd.Test.Distributor.
"""

import base64
import json
import os
import sys

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

DISTRIBUTOR = "org.unifiedpush.Distributor2"
CONNECTOR = "org.unifiedpush.Connector2"
TEST = "org.notifyd.Test.Distributor"


def encrypted(text: bytes, public: bytes, auth: bytes) -> bytes:
    """As http_ece does it for pywebpush; tests of WebPush open messages of the real one."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    def derived(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
        return HKDF(algorithm=hashes.SHA256(), length=length, salt=salt, info=info).derive(secret)

    key = ec.generate_private_key(ec.SECP256R1())
    point = key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    shared = key.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), public))
    secret = derived(shared, auth, b"WebPush: info\0" + public + point, 32)
    salt = os.urandom(16)
    cipher = AESGCM(derived(secret, salt, b"Content-Encoding: aes128gcm\0", 16))
    nonce = derived(secret, salt, b"Content-Encoding: nonce\0", 12)
    return salt + (4096).to_bytes(4, "big") + bytes([len(point)]) + point + cipher.encrypt(nonce, text + b"\2", None)


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Distributor(dbus.service.Object):
    def __init__(self, bus: dbus.SessionBus, name: str, file: str) -> None:
        super().__init__(dbus.service.BusName(name, bus, do_not_queue=True), "/org/unifiedpush/Distributor")
        self.bus = bus
        self.file = file
        self.server = f"https://push.example/{name.rpartition('.')[2]}"
        self.reason = ""
        self.clients: dict[str, dict] = {}
        # What the push server keeps until it is acknowledged: endpoint, message, id.
        self.pending: list[dict] = []
        self.acknowledged: list[dict] = []
        self.refusals: list[str] = []
        self.under_way: set[str] = set()
        self.count = 0
        if os.path.exists(file):
            with open(file) as stored:
                kept = json.load(stored)
            self.clients, self.pending, self.count = kept["clients"], kept["pending"], kept["count"]
        activatable = bus.list_activatable_names()
        for token in [t for t, client in self.clients.items() if client["service"] not in activatable]:
            del self.clients[token]
        GLib.idle_add(self.deliver_all)

    def keep(self) -> None:
        with open(self.file + ".new", "w") as new:
            json.dump({"clients": self.clients, "pending": self.pending, "count": self.count}, new)
        os.replace(self.file + ".new", self.file)

    # What connectors call

    @dbus.service.method(DISTRIBUTOR, in_signature="a{sv}", out_signature="a{sv}")
    def Register(self, arguments):
        if self.reason:
            return {"success": "REGISTRATION_FAILED", "reason": self.reason}
        token = str(arguments["token"])
        if token not in self.clients:
            self.count += 1
            self.clients[token] = {"endpoint": f"{self.server}/{self.count}"}
        client = self.clients[token]
        client.update(service=str(arguments["service"]), vapid=str(arguments.get("vapid", "")),
                      description=str(arguments.get("description", "")))
        self.keep()
        # The address comes before the answer.
        self.tell("NewEndpoint", token, endpoint=client["endpoint"])
        return {"success": "REGISTRATION_SUCCEEDED"}

    @dbus.service.method(DISTRIBUTOR, in_signature="a{sv}", out_signature="a{sv}")
    def Unregister(self, arguments):
        token = str(arguments["token"])
        if token in self.clients:
            self.tell("Unregistered", token)
            del self.clients[token]
            self.keep()
        return {}

    # What it calls

    def connector(self, client: dict) -> dbus.Interface:
        self.bus.start_service_by_name(client["service"])
        connector = self.bus.get_object(client["service"], "/org/unifiedpush/Connector", introspect=False)
        return dbus.Interface(connector, CONNECTOR)

    def tell(self, member: str, token: str, **arguments: str) -> None:
        values = dbus.Dictionary({"token": token, **arguments}, signature="sv")
        self.connector(self.clients[token]).get_dbus_method(member)(
            values, reply_handler=lambda *_: None, error_handler=lambda *_: None)

    def deliver(self, item: dict) -> None:
        token = next((t for t, client in self.clients.items() if client["endpoint"] == item["endpoint"]), None)
        if token is None or item["id"] in self.under_way:
            return
        self.under_way.add(item["id"])
        values = {"token": token, "message": dbus.ByteArray(decoded(item["message"]))}
        if not item["id"].startswith("-"):
            values["id"] = item["id"]

        def done(reply) -> None:
            self.under_way.discard(item["id"])
            if "id" in values and str(reply.get("id", "")) != item["id"]:
                self.refusals.append("the answer has another id")
                return
            if item in self.pending:
                self.pending.remove(item)
            self.acknowledged.append(item)
            self.keep()

        def failed(error) -> None:
            self.under_way.discard(item["id"])
            self.refusals.append(error.get_dbus_name())

        try:
            connector = self.connector(self.clients[token])
        except dbus.DBusException as error:
            return failed(error)
        connector.Message(dbus.Dictionary(values, signature="sv"), reply_handler=done, error_handler=failed)

    def deliver_all(self) -> bool:
        for item in list(self.pending):
            self.deliver(item)
        return False

    # What tests call

    @dbus.service.method(TEST, in_signature="ssss", out_signature="s")
    def Send(self, endpoint, public, auth, text):
        """A sender pushes a text; an endpoint's own keys encrypt it."""
        return self.Push(endpoint, encrypted(str(text).encode(), decoded(public), decoded(auth)), True)

    @dbus.service.method(TEST, in_signature="sayb", out_signature="s", byte_arrays=True)
    def Push(self, endpoint, message, has_id):
        """The push server gets bytes, for a distributor that gives messages an id or none."""
        self.count += 1
        item = {
            "endpoint": str(endpoint), "id": f"{'' if has_id else '-'}{self.count}",
            "message": base64.urlsafe_b64encode(bytes(message)).decode().rstrip("="),
        }
        self.pending.append(item)
        self.keep()
        GLib.idle_add(lambda: self.deliver(item) and False)
        return item["id"]

    @dbus.service.method(TEST, in_signature="uu", out_signature="s", async_callbacks=("answer", "_"))
    def Flood(self, count, length, answer, _):
        """Delivers messages that nobody can decrypt, all at once. Answers when all are answered, with how many were confirmed."""
        token, client = next(iter(self.clients.items()))
        connector = self.connector(client)
        left, confirmed = int(count), 0

        def answered(is_confirmed: bool) -> None:
            nonlocal left, confirmed
            left -= 1
            confirmed += is_confirmed
            if not left:
                answer(str(confirmed))

        for _number in range(int(count)):
            values = {"token": token, "message": dbus.ByteArray(os.urandom(length))}
            connector.Message(
                dbus.Dictionary(values, signature="sv"), timeout=120,
                reply_handler=lambda _reply: answered(True), error_handler=lambda _error: answered(False))

    @dbus.service.method(TEST)
    def Reconnect(self):
        """Delivers again what was not acknowledged."""
        GLib.idle_add(self.deliver_all)

    @dbus.service.method(TEST)
    def Replay(self):
        """Delivers everything again, as a push server that has lost the acknowledgements does."""
        for item in self.acknowledged:
            self.pending.append(dict(item))
        self.acknowledged = []
        GLib.idle_add(self.deliver_all)

    @dbus.service.method(TEST, in_signature="s")
    def Refuse(self, reason):
        self.reason = str(reason)

    @dbus.service.method(TEST, in_signature="s")
    def Serve(self, server):
        """The push server has another address from now on."""
        self.server = str(server)

    @dbus.service.method(TEST)
    def Move(self):
        """Gives every connector a new address; messages to the old one are lost."""
        for token, client in self.clients.items():
            self.count += 1
            client["endpoint"] = f"{self.server}/{self.count}"
            self.tell("NewEndpoint", token, endpoint=client["endpoint"])
        self.keep()

    @dbus.service.method(TEST)
    def Drop(self):
        """The user removes all registrations."""
        for token in list(self.clients):
            self.tell("Unregistered", token)
            del self.clients[token]
        self.keep()

    @dbus.service.method(TEST, out_signature="s")
    def State(self):
        return json.dumps({
            "clients": self.clients, "pending": len(self.pending), "acknowledged": len(self.acknowledged),
            "refusals": self.refusals,
        })


if __name__ == "__main__":
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    distributor = Distributor(dbus.SessionBus(), sys.argv[1], sys.argv[2])
    GLib.MainLoop().run()
