import { findBrowser } from './browser.ts';

/** Before the tests of the console begin, several at a time. */
await findBrowser();
