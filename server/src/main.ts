#!/usr/bin/env node
/** Process entry: hands the arguments to the command line. */
import { runCommand } from './cli/cli.ts';

// Files are for their owner only: databases with their WAL, backups, temporary files. Threads have no umask.
process.umask(0o077);

// Node ignores SIGPIPE. A reader that has gone, as in `relata pull | head`, ends the program as the signal would: 128 + 13.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(141);
    throw error;
  });

const code = await runCommand(process.argv.slice(2));
// A failed command may have left threads running, e.g. a service whose port is taken, which would keep the process alive.
if (code === 0) process.exitCode = 0;
else process.exit(code);
