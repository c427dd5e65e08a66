import { findBrowser } from './browser.ts';

/** Runs before the tests of the console, several of which start at the same time. */
await findBrowser();
