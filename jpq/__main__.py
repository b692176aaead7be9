"""``python -m jpq`` is the ``jpq`` command."""

from jpq.cli.main import main

if __name__ == "__main__":
    main()
