"""A desktop of windows that show nothing, on an X server without a screen. It is its own window manager, so that only what follows the
windows is measured: it sets the properties of EWMH, as a window manager does."""
import ctypes, ctypes.util, os, subprocess

CARDINAL, WINDOW, ATOM_TYPE, REPLACE, WM_CLASS = 6, 33, 4, 0, 67


class Desktop:
    def __init__(self, count):
        read, write = os.pipe()
        self.server = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-screen", "0", "800x600x24", "-nolisten", "tcp"],
                                       pass_fds=[write], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as answer:
            self.display = ":" + answer.readline().strip()
        self.x = ctypes.CDLL(ctypes.util.find_library("X11"))
        self.x.XOpenDisplay.restype = ctypes.c_void_p
        self.x.XDefaultRootWindow.restype = self.x.XCreateSimpleWindow.restype = self.x.XInternAtom.restype = ctypes.c_ulong
        self.connection = ctypes.c_void_p(self.x.XOpenDisplay(self.display.encode()))
        if not self.connection:
            raise SystemExit("Xvfb does not start.")
        self.root = ctypes.c_ulong(self.x.XDefaultRootWindow(self.connection))
        manager = self.window()
        for place in (self.root, manager):
            self.numbers(place, "_NET_SUPPORTING_WM_CHECK", WINDOW, [manager.value])
        self.numbers(self.root, "_NET_CURRENT_DESKTOP", CARDINAL, [0])
        self.windows = [self.window() for _ in range(count)]
        for number, window in enumerate(self.windows):
            self.bytes(window, WM_CLASS, b"bench\0Bench\0")
            self.title(number, f"Post {number} - Example")
            self.numbers(window, "_NET_WM_DESKTOP", CARDINAL, [0])
            self.numbers(window, "_NET_WM_STATE", ATOM_TYPE, [])
        self.numbers(self.root, "_NET_CLIENT_LIST", WINDOW, [window.value for window in self.windows])
        self.focus(0)

    def window(self):
        return ctypes.c_ulong(self.x.XCreateSimpleWindow(self.connection, self.root, 0, 0, 10, 10, 0, ctypes.c_ulong(0), ctypes.c_ulong(0)))

    def atom(self, name):
        return ctypes.c_ulong(self.x.XInternAtom(self.connection, name.encode(), 0))

    def numbers(self, window, name, kind, values):
        data = (ctypes.c_ulong * len(values))(*values)
        self.x.XChangeProperty(self.connection, window, self.atom(name), ctypes.c_ulong(kind), 32, REPLACE, data, len(values))

    def bytes(self, window, atom, text, kind=31):
        self.x.XChangeProperty(self.connection, window, ctypes.c_ulong(atom), ctypes.c_ulong(kind), 8, REPLACE, text, len(text))

    def title(self, number, text):
        self.bytes(self.windows[number], self.atom("_NET_WM_NAME").value, text.encode(), self.atom("UTF8_STRING").value)

    def focus(self, number):
        """Returns when the X server has taken it."""
        self.numbers(self.root, "_NET_ACTIVE_WINDOW", WINDOW, [self.windows[number].value])
        self.x.XSync(self.connection, 0)

    def stop(self):
        self.x.XCloseDisplay(self.connection)
        self.server.terminate()
        self.server.wait()
