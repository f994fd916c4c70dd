/** Empties `dist/` before a build, so that a file that is gone from `src/` is gone from there too. */
import { rmSync } from 'node:fs';

rmSync(new URL('../../dist', import.meta.url), { recursive: true, force: true });
