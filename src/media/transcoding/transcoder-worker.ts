/**
 * The tasks of a transcoding thread: it has the decoders, scalers, resamplers and encoders of its sessions. It never ends itself, and
 * is ended between tasks only: a thread that is stopped within native code may take the process with it.
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
/** Every task waits for it, so that they keep their order while it loads. */
const opening = openEngine();
/** By their sessions, of which none has both. */
const transcoders = new Map<number, FrameTranscoder | PacketTranscoder>();

/** Those of this thread. */
export const transcoderTasks: TranscoderTasks = {
  async startEngine() {
    const engine = await opening;
    if (!engine.ok) return fail(engine.error);
    return succeed({ version: engine.value.version, soundEncoders: encodableSound(engine.value) });
  },
  takeFrame: ({ session, frame, shapes, description, isKeyWanted }) =>
    performBy(
      session,
      (engine) => new FrameTranscoder(engine, settings),
      (transcoder) => transcoder.take(frame, shapes, description, isKeyWanted),
    ),
  takeSound: ({ session, packet, assumed, targets }) =>
    performBy(
      session,
      (engine) => new PacketTranscoder(engine),
      (transcoder) => transcoder.take(packet, assumed, targets),
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

/** A transcoder that throws is not used again: the session's next task makes a new one. */
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
