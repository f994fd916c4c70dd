/** Empties `dist/` before a build, so that files deleted from `src/` disappear from it. */
import { rmSync } from 'node:fs';

rmSync(new URL('../../dist', import.meta.url), { recursive: true, force: true });
