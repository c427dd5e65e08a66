#!/usr/bin/env node
/** Process entry: hands the arguments to the command line. */
import { runCommand } from './cli/cli.ts';

// What is stored is for its owner alone: databases with their WAL, backups, temporary files. Threads have no mask of their own.
process.umask(0o077);

// Node ignores SIGPIPE. A reader that has gone, as in `relata pull | head`, ends the program as the signal would: 128 + 13.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(141);
    throw error;
  });

const code = await runCommand(process.argv.slice(2));
// A command that failed may have left threads running, e.g. a service whose port is taken; they would keep it alive.
if (code === 0) process.exitCode = 0;
else process.exit(code);
