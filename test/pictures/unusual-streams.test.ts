/**
 * Damaged and unusual streams of H.264 and H.265: a call shows as many pictures as FFmpeg, and they look alike.
 * Source: calls-and-media.md, Resolution.
 */
import assert from 'node:assert/strict';
import { engineTest } from '../support/engine-test.ts';
import { decodeJpegs } from './reference.ts';
import { jpegsShown, leastRatios, planesShown } from './shown-pictures.ts';
import { streamSize, unusualStreams } from './unusual-streams.ts';

/** In dB; the coding of the JPEG alone costs down to 46. */
const ratioMin = 40;

for (const { name, format, messages, keptBack, isPaintedOver } of unusualStreams())
  engineTest(`${name} is shown as by FFmpeg`, async (engine, t) => {
    const ours = jpegsShown(engine, format, messages, { mode: 'auto', screen: null });
    const demuxer = format === 'h265' ? 'hevc' : format;
    const theirs = planesShown(['-f', demuxer], Buffer.concat(messages), streamSize);
    const ratios = leastRatios(await decodeJpegs(ours, streamSize), theirs);
    t.diagnostic(`FFmpeg ${theirs.length}, ours ${ours.length}, ${ratios.join(' ')} dB`);
    assert.ok(
      ours.length > 0 && ours.length >= theirs.length - (keptBack ?? 0),
      `${ours.length} of ${theirs.length}`,
    );
    if (isPaintedOver !== true && ours.length <= theirs.length)
      assert.ok(Math.min(...ratios) >= ratioMin, ratios.join());
  });
