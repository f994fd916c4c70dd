/** Before the tests of pictures: every tool they need is here, and so are the photographs. Says what to install. */
import { missingTool } from '../support/debian-tools.ts';
import { photographs } from '../support/photographs.ts';

const tools = ['ffmpeg', 'ffprobe', 'djpeg', 'cjpeg', 'chromium'] as const;

const missing = tools.map(missingTool).filter((what) => what !== null);
for (const what of missing) console.error(`test:pictures: ${what}`);
if (missing.length === 0) {
  try {
    photographs();
  } catch (error) {
    missing.push(String(error));
    console.error(`test:pictures: ${error instanceof Error ? error.message : String(error)}`);
  }
}
if (missing.length > 0) process.exitCode = 1;
