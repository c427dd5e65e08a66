import { existsSync } from 'node:fs';
import chromium from '@sparticuz/chromium';
import { type Browser, chromium as playwright } from 'playwright-core';

/** Where a Chrome or Chromium usually is when somebody installed one. */
const INSTALLED = [
  process.env.RELATA_TEST_CHROME,
  '/usr/bin/chromium',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];

const isBrought = process.platform === 'linux' && process.arch === 'x64' && !process.env.RELATA_TEST_CHROME;

/**
 * A real Chromium: on Linux x64 the one that npm brings, which needs nothing of the system and runs as root; elsewhere one
 * that is installed. The one of npm is unpacked at the first call on a machine: of several processes at once some would start
 * it half written, so the runner of the tests calls this first (`npm run browser`).
 */
export const findBrowser = async (): Promise<string> =>
  isBrought ? chromium.executablePath() : findInstalled();

export async function launchBrowser(): Promise<Browser> {
  return playwright.launch({
    executablePath: await findBrowser(),
    headless: true,
    args: isBrought ? [...chromium.args.filter(isWanted), '--disable-gpu'] : [],
  });
}

/**
 * What the package sets for small functions in a cloud, what would switch off what is tested, and a graphics card in
 * software, which takes a third of a test's processor time. `--no-zygote` stays: pages forked from a zygote would save an
 * eighth, but where less is allowed than on a desk this Chromium then now and then ends with SIGSEGV as it starts.
 */
const BENT = [
  '--disable-web-security',
  '--allow-running-insecure-content',
  '--single-process',
  '--headless',
  '--use-gl',
  '--use-angle',
  '--enable-unsafe-swiftshader',
  '--ignore-gpu-blocklist',
];

const isWanted = (arg: string) => !BENT.some((start) => arg.startsWith(start));

function findInstalled(): string {
  const found = INSTALLED.find((path) => path !== undefined && existsSync(path));
  if (found === undefined)
    throw new Error(
      'The tests of the console need Chrome or Chromium: install one, or name it in RELATA_TEST_CHROME',
    );
  return found;
}
