import assert from 'node:assert/strict';
import {
  freeNatives,
  liveNatives,
  makeFrame,
  makeGraph,
  makePacket,
  makeResampler,
  openCodec,
} from '../../../../src/media/codec/native-census.ts';
import { engineTest } from '../../../support/engine-test.ts';

engineTest('native objects are counted by kind until they are freed', (engine) => {
  const before = liveNatives();
  const codec = engine.av.Codec.findDecoder(engine.constants.AV_CODEC_ID_MJPEG);
  const packet = makePacket(engine);
  const frames = [makeFrame(engine), makeFrame(engine)];
  const context = openCodec(engine, codec, 'decoder', () => undefined);
  const graph = makeGraph(engine);
  const resampler = makeResampler(engine, { rate: 8000, channels: 1 }, 16_000);
  const { packets, frames: liveFrames, codecContexts, graphs, resamplers } = before;
  assert.deepEqual(liveNatives(), {
    ...before,
    packets: packets + 1,
    frames: liveFrames + 2,
    codecContexts: codecContexts + 1,
    graphs: graphs + 1,
    resamplers: resamplers + 1,
  });
  freeNatives(packet, ...frames, context, graph, resampler);
  assert.deepEqual(liveNatives(), before);
});

engineTest('freeing a native object twice is a programming error that does not reach it', (engine) => {
  const frame = makeFrame(engine);
  freeNatives(frame);
  assert.throws(() => freeNatives(frame), /is freed once/);
});

engineTest('a resampler of unsupported rates is not created, and not counted', (engine) => {
  const before = liveNatives();
  assert.throws(() => makeResampler(engine, { rate: 8000, channels: 1 }, -1));
  assert.deepEqual(liveNatives(), before);
});
