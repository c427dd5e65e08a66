import { existsSync } from 'node:fs';
import chromium from '@sparticuz/chromium';
import { type Browser, chromium as playwright } from 'playwright-core';

/** Where an installed Chrome or Chromium usually is. */
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
 * A real Chromium. On Linux x64 it is the one from npm, which needs no system libraries and runs as root;
 * elsewhere it is an installed one. The Chromium from npm is unpacked at the first call on a machine. If
 * several processes did that, some would start a half-written file, so the runner of the tests calls this first
 * (`npm run browser`).
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
 * The arguments of the package that the tests leave out. Some are for small functions in a cloud, and some
 * would switch off what is tested. A graphics card in software takes a third of the processor time of a test.
 * `--no-zygote` stays: without it, pages would save an eighth, but with fewer permissions than on a desktop
 * this Chromium sometimes ends with SIGSEGV as it starts.
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
  const installed = INSTALLED.find((path) => path !== undefined && existsSync(path));
  if (installed === undefined)
    throw new Error(
      'The tests of the console need Chrome or Chromium: install one, or name it in RELATA_TEST_CHROME',
    );
  return installed;
}
