/**
 * Has Node read TypeScript, as `--import tsx` does, for the scripts of package.json. It is JavaScript, so that a compiler without
 * its binary ends in a sentence.
 */
import { createRequire } from 'node:module';

const machine = `${process.platform}-${process.arch}`;
try {
  createRequire(import.meta.resolve('esbuild')).resolve(`@esbuild/${machine}/package.json`);
} catch {
  process.stderr.write(
    `the compiler esbuild has no binary for ${machine} here\n` +
      '  npm ci mends it; not with --omit=optional: to leave out FFmpeg, npm run without-ffmpeg\n',
  );
  process.exit(1);
}
await import('tsx');
