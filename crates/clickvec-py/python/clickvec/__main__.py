"""The program ``clickvec``: ``python -m clickvec`` and the command that the wheel installs."""

import signal
import sys

from . import _clickvec


def main() -> None:
    """Runs the program with the arguments of the process, and ends with its exit status."""
    # As in any other program: Ctrl-C ends it, unless a command that has something to lose watches for it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    name = "clickvec" if sys.argv[0].endswith("__main__.py") else sys.argv[0]
    sys.exit(_clickvec.run([name, *sys.argv[1:]], _clickvec.__file__))


if __name__ == "__main__":
    main()
