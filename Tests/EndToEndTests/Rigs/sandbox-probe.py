"""Tries what the lines of the unit forbid: sandbox-probe.py PROBE …

For each probe one line of output: its name, and "allowed" or "refused: why". Every attempt is a process of its own,
for some end by a signal. What a probe must know of the world outside comes in OUTSIDE_* variables.
"""

import ctypes
import errno
import mmap
import os
import resource
import signal
import socket
import subprocess
import sys

libc = ctypes.CDLL(None, use_errno=True)
PROBES = {}


def probe(function):
    PROBES[function.__name__.replace("_", "-")] = function
    return function


class Refused(Exception):
    pass


def call(name, *arguments):
    result = getattr(libc, name)(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise Refused(result.stderr.strip())
    return result.stdout.strip()


def status(key):
    with open("/proc/self/status") as lines:
        return next(line.split()[1] for line in lines if line.startswith(key + ":"))


def same_namespace(kind):
    if os.readlink(f"/proc/self/ns/{kind}") != os.environ[f"OUTSIDE_{kind.upper()}"]:
        raise Refused("another namespace")


def write(folder):
    path = f"{folder}/probe-{os.getpid()}"
    with open(path, "w"):
        os.unlink(path)


# --- limits

@probe
def memory():
    pages = mmap.mmap(-1, 600 << 20)
    for offset in range(0, len(pages), 4096):
        pages[offset] = 1


@probe
def processes():
    for _ in range(80):
        if os.fork() == 0:
            signal.pause()


@probe
def descriptors():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    for _ in range(4097):
        os.dup(0)


@probe
def core_file():
    if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
        raise Refused("the limit is 0 bytes")


@probe
def files_for_all():
    path = f"/dev/shm/probe-{os.getpid()}"
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o666))
    mode = os.stat(path).st_mode & 0o777
    os.unlink(path)
    if mode & 0o077 == 0:
        raise Refused(f"the mode is {mode:o}")


@probe
def session_keys():
    # keyctl(KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING); its number differs on every architecture.
    number = {"x86_64": 250, "aarch64": 219}[os.uname().machine]
    keyring = str(call("syscall", number, 0, -3, 0, 0, 0))
    if keyring != os.environ["OUTSIDE_KEYRING"]:
        raise Refused(f"keyring {keyring}")


# --- rights

@probe
def rights_of_a_program():
    if run("/mnt/setuid-id", "-u") != "0":
        raise Refused("it is not root")


@probe
def set_user_id():
    path = f"/dev/shm/probe-{os.getpid()}"
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o700))
    try:
        os.chmod(path, 0o4700)
    finally:
        os.unlink(path)


@probe
def namespaces():
    run("unshare", "--user", "true")


@probe
def writable_code():
    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)


@probe
def personality():
    run("setarch", "--addr-no-randomize", "true")


@probe
def foreign_calls():
    # getpid by the 32-bit entrance that only a kernel for x86-64 has.
    if os.uname().machine != "x86_64":
        raise Refused("there are none")
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # mov eax, 20; int 0x80; ret
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))
    if ctypes.CFUNCTYPE(ctypes.c_int)(address)() != os.getpid():
        raise Refused("the kernel has no 32-bit calls")


@probe
def tracing():
    call("ptrace", 0, 0, 0, 0)


@probe
def end_by_a_call():
    child = os.fork()
    if child == 0:
        libc.ptrace(0, 0, 0, 0)
        os._exit(0)
    if not os.WIFSIGNALED(os.waitpid(child, 0)[1]):
        raise Refused("the program goes on")


@probe
def owners_and_processors():
    for attempt in (lambda: os.chown(os.environ["HOME"], os.getuid(), -1),
                    lambda: os.sched_setaffinity(0, os.sched_getaffinity(0))):
        try:
            attempt()
            return
        except OSError as error:
            last = error
    raise last


@probe
def real_time():
    # Users seldom may, but with a priority that does not exist the kernel says so first, if it is asked at all.
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(0))
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise


@probe
def other_users():
    same_namespace("user")


@probe
def capabilities():
    if int(status("CapBnd"), 16) == 0:
        raise Refused("the bounding set is empty")


# --- files

@probe
def files_of_the_system():
    write("/mnt")


@probe
def files_of_other_services():
    write("/run/lock")


@probe
def files_at_home():
    write(os.environ["HOME"])


@probe
def loss_of_the_journal():
    try:
        write(os.environ["HOME"] + "/.local/state/notifyd")
    except OSError:
        return
    raise Refused("its folder can be written to")


@probe
def temporary_files():
    status = os.stat("/tmp")
    if f"{status.st_dev}:{status.st_ino}" != os.environ["OUTSIDE_TEMPORARY"]:
        raise Refused("another folder")


@probe
def devices():
    usual = {"null", "zero", "full", "random", "urandom", "tty", "fd", "stdin", "stdout", "stderr", "core", "ptmx", "pts",
             "shm", "mqueue", "hugepages", "log", "char", "block"}
    if set(os.listdir("/dev")) <= usual:
        raise Refused("there are only pseudo devices")


@probe
def device_files():
    os.close(os.open("/dev/autofs", os.O_RDONLY))


# --- others

@probe
def internet():
    socket.socket(socket.AF_INET).close()


@probe
def connection():
    with socket.create_connection(("127.0.0.1", int(os.environ["OUTSIDE_PORT"])), timeout=2):
        pass


@probe
def shared_memory():
    call("shmget", int(os.environ["OUTSIDE_SHARED_MEMORY"], 16), 0, 0)


@probe
def processes_of_others():
    os.stat("/proc/1/status")


@probe
def system_information():
    os.stat("/proc/meminfo")


# --- the system

@probe
def host_name():
    same_namespace("uts")


@probe
def clock():
    call("adjtimex", ctypes.create_string_buffer(512))  # with all zeros it only asks


@probe
def control_groups():
    with open("/proc/self/cgroup") as lines:
        path = next(line.strip().split(":", 2)[2] for line in lines if line.split(":")[1] in ("name=systemd", ""))
    for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/systemd"):
        if os.path.isdir(root + path):
            os.mkdir(f"{root}{path}/probe-{os.getpid()}")
            os.rmdir(f"{root}{path}/probe-{os.getpid()}")
            return
    raise Refused("its control group is nowhere to be seen")


@probe
def kernel_log():
    if not os.access("/dev/kmsg", os.R_OK):
        raise Refused("/dev/kmsg cannot be read")


@probe
def kernel_modules():
    cap_sys_module = 16
    if not int(status("CapBnd"), 16) >> cap_sys_module & 1:
        raise Refused("CAP_SYS_MODULE is out of reach")


@probe
def kernel_settings():
    if os.statvfs("/proc/sys").f_flag & os.ST_RDONLY:
        raise Refused("/proc/sys can only be read")


def attempt(name):
    """The outcome of a probe, made by a child."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        try:
            PROBES[name]()
            word = "allowed"
        except OSError as error:
            word = f"refused: {errno.errorcode.get(error.errno, error.errno)}"
        except Refused as reason:
            word = f"refused: {reason}"
        os.write(writing, word.encode())
        os._exit(0)
    os.close(writing)
    _, end = os.waitpid(child, 0)
    word = os.read(reading, 1000).decode()
    os.close(reading)
    try:
        os.killpg(child, signal.SIGKILL)  # what it has started
    except ProcessLookupError:
        pass
    return f"refused: {signal.Signals(os.WTERMSIG(end)).name}" if os.WIFSIGNALED(end) else word


for name in sys.argv[1:]:
    print(name, attempt(name))
