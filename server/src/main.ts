#!/usr/bin/env node
/** Process entry: hands the arguments to the command line. */
import { runCommand } from './cli/cli.ts';

const code = await runCommand(process.argv.slice(2));
// A command that failed may have left threads running, e.g. a service whose port is taken; they would keep it alive.
if (code === 0) process.exitCode = 0;
else process.exit(code);
