# SPDX-License-Identifier: Apache-2.0
"""What systemd does for a service with a fd store, for one daemon: takes what is sent with FDSTORE=1, and hands it to
the next process as LISTEN_FDS. `FdStore.launcher` is the command that starts the daemon with it."""

import array
import contextlib
import os
import socket
import sys
import threading

FIRST_FD = 3
MOST_FDS = 250


class FdStore:
    """Runs in a thread until close()."""

    def __init__(self, folder, name):
        self.notify_path = str(folder / f"{name}.notify")
        self.hand_path = str(folder / f"{name}.fds")
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(self.notify_path)
        self.hand = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.hand.bind(self.hand_path)
        self.hand.listen(1)
        self.stored = []  # (name, fd), as systemd would pass them on
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self._loop, args=(step,), daemon=True) for step in (self._heed, self._give)]
        for thread in self.threads:
            thread.start()

    @property
    def launcher(self):
        return [sys.executable, __file__, self.hand_path, self.notify_path]

    def names(self):
        with self.lock:
            return sorted(name for name, _ in self.stored)

    def damage(self, name):
        """Turns the bytes of a state file over, behind its first page."""
        with self.lock:
            fd = next(fd for known, fd in self.stored if known == name)
            size = os.fstat(fd).st_size
            data = os.pread(fd, size - 4096, 4096)
            os.pwrite(fd, data[:28] + bytes(b ^ 0x55 for b in data[28:]), 4096)

    def _loop(self, step):
        with contextlib.suppress(OSError):
            while step():
                pass

    def _heed(self):
        """One message of the daemon."""
        data, ancillary, _, _ = self.notify.recvmsg(65536, socket.CMSG_SPACE(16 * array.array("i").itemsize))
        fds = array.array("i")
        for level, kind, content in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                fds.frombytes(content[:len(content) // fds.itemsize * fds.itemsize])
        says = dict(line.split("=", 1) for line in data.decode().splitlines() if "=" in line)
        with self.lock:
            if says.get("FDSTORE") == "1":
                self.stored += [(says["FDNAME"], os.dup(fd)) for fd in fds if not self._has(fd)]
            if says.get("FDSTOREREMOVE") == "1":
                for name, fd in self.stored:
                    if name == says["FDNAME"]:
                        os.close(fd)
                self.stored = [(name, fd) for name, fd in self.stored if name != says["FDNAME"]]
        for fd in fds:  # of a barrier: its end is the answer
            os.close(fd)
        return "END" not in says

    def _has(self, fd):
        return any(os.path.samestat(os.fstat(fd), os.fstat(known)) for _, known in self.stored)

    def _give(self):
        """The next process asks for what there is."""
        client, _ = self.hand.accept()
        with client, self.lock:
            names = ":".join(name for name, _ in self.stored)
            socket.send_fds(client, [f"{len(self.stored)} {names}".encode()], [fd for _, fd in self.stored])
        return True

    def close(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            s.sendto(b"END=1", self.notify_path)
        self.threads[0].join(5)
        self.hand.shutdown(socket.SHUT_RDWR)
        self.threads[1].join(5)
        self.notify.close()
        self.hand.close()
        with self.lock:
            for _, fd in self.stored:
                os.close(fd)
            self.stored = []


def launch(hand_path, notify_path, command):
    """In the new process: takes the descriptors, and becomes the daemon."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
        s.connect(hand_path)
        text, fds, _, _ = socket.recv_fds(s, 65536, MOST_FDS)
    count, names = text.decode().split(" ", 1)
    high = [os.dup2(fd, FIRST_FD + MOST_FDS + i) for i, fd in enumerate(fds)]  # out of the way first
    for i, fd in enumerate(high):
        os.dup2(fd, FIRST_FD + i)
        os.close(fd)
    os.closerange(FIRST_FD + len(fds), FIRST_FD + MOST_FDS)
    environment = {**os.environ, "NOTIFY_SOCKET": notify_path}
    if fds:
        environment |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": count, "LISTEN_FDNAMES": names}
    os.execvpe(command[0], command, environment)


if __name__ == "__main__":
    launch(sys.argv[1], sys.argv[2], sys.argv[3:])
