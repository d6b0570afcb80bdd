"""Send what is due in one folder, and end: what a tool that lives for a moment starts beside itself."""

import sys

from rrcollect.telemetry.sending import send_due

if __name__ == "__main__":
    send_due(sys.argv[1])
