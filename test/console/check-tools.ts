/** Before the test of the console: a Chromium is here. Says what to install. */
import { noChromium } from '../support/chromium.ts';

if (noChromium !== false) {
  console.error(`test:console: ${noChromium}`);
  process.exitCode = 1;
}
