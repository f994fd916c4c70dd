/**
 * The tasks of a transcoding thread: it has the decoders, scalers, resamplers and encoders of its sessions. It never ends by itself, and
 * is stopped only between tasks: stopping a thread inside native code may crash the process.
 */
import { workerData, type MessagePort } from 'node:worker_threads';
import { fail, succeed } from '../../lib/result.ts';
import { openEngine, type Engine } from '../codec/engine.ts';
import { FrameTranscoder, type TranscoderSettings } from '../codec/frame-transcoder.ts';
import { liveNatives } from '../codec/native-census.ts';
import { PacketTranscoder } from '../codec/packet-transcoder.ts';
import { encodableSound } from '../codec/sound-encoder.ts';
import { serveTasks } from './task-port.ts';
import type { TranscoderTasks } from './transcoder-task.ts';

const settings: TranscoderSettings = workerData;
/** Every task awaits it, so that tasks keep their order while it loads. */
const opening = openEngine();
/** By session; no session has both kinds. */
const transcoders = new Map<number, FrameTranscoder | PacketTranscoder>();

export const transcoderTasks: TranscoderTasks = {
  async startEngine() {
    const engine = await opening;
    if (!engine.ok) return fail(engine.error);
    return succeed({ version: engine.value.version, soundEncoders: encodableSound(engine.value) });
  },
  transcodeFrame: ({ session, frame, shapes, description, isKeyWanted }) =>
    performBy(
      session,
      (engine) => new FrameTranscoder(engine, settings),
      (transcoder) => transcoder.transcode(frame, shapes, description, isKeyWanted),
    ),
  transcodeSound: ({ session, packet, assumed, targets }) =>
    performBy(
      session,
      (engine) => new PacketTranscoder(engine),
      (transcoder) => transcoder.transcode(packet, assumed, targets),
    ),
  async closeSession(session) {
    await opening;
    dropSession(session);
  },
  async closeAll() {
    await opening;
    for (const session of transcoders.keys()) dropSession(session);
  },
  async countNatives() {
    await opening;
    return liveNatives();
  },
};

export function serve(port: MessagePort): void {
  serveTasks(transcoderTasks, port);
}

/** A transcoder that throws is discarded: the session's next task creates a new one. */
async function performBy<Kind extends FrameTranscoder | PacketTranscoder, Answer>(
  session: number,
  make: (engine: Engine) => Kind,
  perform: (transcoder: Kind) => Answer,
): Promise<Answer> {
  const engine = await opening;
  if (!engine.ok) throw new Error(engine.error);
  try {
    const transcoder = (transcoders.get(session) as Kind | undefined) ?? make(engine.value);
    transcoders.set(session, transcoder);
    return perform(transcoder);
  } catch (error) {
    dropSession(session);
    throw error;
  }
}

function dropSession(session: number): void {
  const transcoder = transcoders.get(session);
  transcoders.delete(session);
  transcoder?.close();
}
