/**
 * Encoder of narrow-band AMR: OpenCORE compiled to JavaScript, from the optional package recorder-core, because node-av's FFmpeg has
 * none. The first use loads it, which blocks its thread once for 0.2 s; frames wait in the queues meanwhile. Source: docs/adr/0015.
 */
import { createRequire } from 'node:module';
import { assert } from '../../lib/assert.ts';

interface AmrStream {
  /** Encodes all samples so far except the last ones, which it keeps; it keeps at least one. */
  encode(samples: Int16Array): Uint8Array<ArrayBuffer>;
}

interface AmrPackage {
  readonly AMR: { GetEncoder(kilobitsPerSecond: number): AmrStream };
}

const load = createRequire(import.meta.url);
const corePath = 'recorder-core';
const missing = 'no AMR encoding: package recorder-core is not installed; run npm ci';
const enginePath = 'recorder-core/src/engine/beta-amr-engine.js';

export function hasAmrLibrary(from: Pick<NodeJS.Require, 'resolve'> = load): boolean {
  try {
    from.resolve(enginePath);
    return true;
  } catch {
    return false;
  }
}

/** Throws if the package is not installed. */
export function openAmrStream(kilobitsPerSecond: number): AmrStream {
  if (!hasAmrLibrary()) throw new Error(missing);
  const core: AmrPackage = load(corePath);
  load(enginePath);
  const stream = core.AMR.GetEncoder(kilobitsPerSecond);
  // With one pending sample it returns each frame as soon as it is complete.
  const none = stream.encode(new Int16Array(1));
  assert(none.length === 0, 'a sample is no frame');
  return stream;
}
