/**
 * The tasks of a transcoding thread: it has the decoders, scalers, resamplers and encoders of its sessions. It never ends itself, and
 * is ended between tasks only: a thread that is stopped within native code may take the process with it.
 */
import { workerData, type MessagePort } from 'node:worker_threads';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { openEngine, type Engine } from '../codec/engine.ts';
import { FrameTranscoder, type TranscoderSettings } from '../codec/frame-transcoder.ts';
import { liveNatives, type NativeCensus } from '../codec/native-census.ts';
import { PacketTranscoder } from '../codec/packet-transcoder.ts';
import { encodableSound } from '../codec/sound-encoder.ts';
import type { FrameResult } from '../../model/media/picture.ts';
import type { SoundResult } from '../../model/media/sound.ts';
import { serveTasks } from './task-port.ts';
import type { EngineDescription, FrameTask, SoundTask, TranscoderTasks } from './transcoder-task.ts';

const settings: TranscoderSettings = workerData;
/** Every task waits for it, so that they keep their order while it loads. */
const opening = openEngine();
const transcoders = new Map<number, FrameTranscoder>();
const soundTranscoders = new Map<number, PacketTranscoder>();

/** Those of this thread. */
export const transcoderTasks: TranscoderTasks = {
  startEngine,
  takeFrame,
  takeSound,
  closeSession,
  closeAll,
  countNatives,
};

export function serve(port: MessagePort): void {
  serveTasks(transcoderTasks, port);
}

async function startEngine(): Promise<Result<EngineDescription, string>> {
  const engine = await opening;
  if (!engine.ok) return fail(engine.error);
  return succeed({ version: engine.value.version, soundEncoders: encodableSound(engine.value) });
}

function takeFrame({ session, frame, shapes, description, isKeyWanted }: FrameTask): Promise<FrameResult> {
  return performBy(transcoders, session, {
    make: (engine) => new FrameTranscoder(engine, settings),
    perform: (transcoder) => transcoder.take(frame, shapes, description, isKeyWanted),
  });
}

function takeSound({ session, packet, assumed, targets }: SoundTask): Promise<SoundResult> {
  return performBy(soundTranscoders, session, {
    make: (engine) => new PacketTranscoder(engine),
    perform: (transcoder) => transcoder.take(packet, assumed, targets),
  });
}

/** A transcoder that throws is not used again: the session's next task makes a new one. */
async function performBy<Kind, Answer>(
  known: Map<number, Kind>,
  session: number,
  { make, perform }: { make: (engine: Engine) => Kind; perform: (transcoder: Kind) => Answer },
): Promise<Answer> {
  const engine = await opening;
  if (!engine.ok) throw new Error(engine.error);
  try {
    const transcoder = known.get(session) ?? make(engine.value);
    known.set(session, transcoder);
    return perform(transcoder);
  } catch (error) {
    dropSession(session);
    throw error;
  }
}

async function closeSession(session: number): Promise<void> {
  await opening;
  dropSession(session);
}

async function closeAll(): Promise<void> {
  await opening;
  for (const session of [...transcoders.keys(), ...soundTranscoders.keys()]) dropSession(session);
}

async function countNatives(): Promise<NativeCensus> {
  await opening;
  return liveNatives();
}

function dropSession(session: number): void {
  const transcoder = transcoders.get(session) ?? soundTranscoders.get(session);
  transcoders.delete(session);
  soundTranscoders.delete(session);
  transcoder?.close();
}
