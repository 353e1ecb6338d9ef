"""The main module of the executable: the command `rocketmq-emulator`, as pip installs it."""

import sys

from rocketmq_testkit.fixtures.command import main

sys.exit(main())
