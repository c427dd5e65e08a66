#!/usr/bin/env node
/** Process entry: hands the arguments to the command line. */
import { runCommand } from './cli/cli.ts';

// What is stored is for its owner alone: databases with their WAL, backups, temporary files. Threads have no mask of their own.
process.umask(0o077);

const code = await runCommand(process.argv.slice(2));
// A command that failed may have left threads running, e.g. a service whose port is taken; they would keep it alive.
if (code === 0) process.exitCode = 0;
else process.exit(code);
