/**
 * The encoder of narrow-band AMR: OpenCORE's, compiled to JavaScript, from the optional package recorder-core, because
 * FFmpeg as node-av has it brings none. It is loaded when it is first asked for, which holds up its thread once, for 0.2 s: what
 * waits meanwhile is within the queues. It keeps to memory of its own. Source: docs/adr/0015.
 */
import { createRequire } from 'node:module';
import { assert } from '../../lib/assert.ts';

/** The package's. */
interface AmrStream {
  /** Of the samples so far, less those it holds back; it holds back one at least. */
  encode(samples: Int16Array): Uint8Array<ArrayBuffer>;
}

interface AmrPackage {
  readonly AMR: { GetEncoder(kilobitsPerSecond: number): AmrStream };
}

const load = createRequire(import.meta.url);
const corePath = 'recorder-core';
const missing =
  'AMR is not encoded here: the package recorder-core, which has an encoder, is not installed (npm ci installs it)';
const enginePath = 'recorder-core/src/engine/beta-amr-engine.js';

/** Whether the package is installed. `from`: where it is looked for. */
export function hasAmrLibrary(from: Pick<NodeJS.Require, 'resolve'> = load): boolean {
  try {
    from.resolve(enginePath);
    return true;
  } catch {
    return false;
  }
}

/** Throws where the package is not installed. */
export function openAmrStream(kilobitsPerSecond: number): AmrStream {
  if (!hasAmrLibrary()) throw new Error(missing);
  const core: AmrPackage = load(corePath);
  load(enginePath);
  const stream = core.AMR.GetEncoder(kilobitsPerSecond);
  // With one sample in hand it gives each frame as soon as it has it.
  const none = stream.encode(new Int16Array(1));
  assert(none.length === 0, 'a sample is no frame');
  return stream;
}
