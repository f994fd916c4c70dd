/** The deps of the backend, put together. */
import { ReveilleClient } from 'reveille/client';
import { CallFlow } from './call-flow.ts';
import { Capabilities } from './capabilities.ts';
import { EventReader } from './event-reader.ts';
import { KnownRooms } from './known-rooms.ts';
import { PushCipher } from './push-crypto.ts';
import { PushListener, type Verdict } from './push-listener.ts';
import type { IncomingCall } from './push-message.ts';
import type { BackendSettings } from './settings.ts';
import { writeStep, type StepLog } from './step-log.ts';

export interface Backend {
  /** Where it receives pushes. */
  readonly port: number;
  /** Takes no more pushes, lets calls under way come to their end for a while, and resolves when all is closed. */
  stop(): Promise<void>;
}

/** A push may be this much older or newer than our clock. */
const clockWindowS = 300;
/** Longer than twice the window: what is still signed well enough to be taken is still known. */
const rememberMs = 900_000;
const roomsMax = 50_000;
/** A call waits so long for what devices reported before we were started. */
const catchUpMsMax = 1000;
/** Given to calls under way when the backend is stopped. */
const settleMsMax = 10_000;

/** Rejects when it cannot listen. */
export async function startBackend(settings: BackendSettings, log: StepLog = writeStep): Promise<Backend> {
  const { origin, credential, callsMax, callMsMax, callingTimeoutS, retryPauseMs } = settings;
  // A call waits for its device on a connection of its own, and one reads events.
  const api = new ReveilleClient({ origin, credential, socketsMax: callsMax + 1 });
  const capabilities = new Capabilities(settings.defaultMedia);
  const events = new EventReader(api, capabilities, log);
  const { caughtUp } = events;
  const msgAppId = settings.secrets.appId;
  const deps = { api, capabilities, caughtUp, msgAppId, callingTimeoutS, catchUpMsMax, retryPauseMs, log };
  const calls = new CallFlow(deps, { callMsMax, callsMax });
  const rooms = new KnownRooms<Verdict>({ roomsMax, rememberMs, now: Date.now });
  const { host, port, path, answerWithinMs } = settings;
  const cipher = new PushCipher(settings.secrets);
  const take = (call: IncomingCall): Promise<Verdict> => takeOnce(call, rooms, calls, log);
  const listener = new PushListener({ host, port, path, cipher, clockWindowS, answerWithinMs, take, log });

  const stop = async (): Promise<void> => {
    await listener.close();
    const cut = setTimeout(() => calls.cut(), settleMsMax);
    await calls.settle();
    clearTimeout(cut);
    await events.stop();
    api.close();
  };
  try {
    return { port: await listener.listen(), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function takeOnce(
  call: IncomingCall,
  rooms: KnownRooms<Verdict>,
  calls: CallFlow,
  log: StepLog,
): Promise<Verdict> {
  const told = { room: call.roomId, device: call.deviceId };
  const known = rooms.answer(call.roomId, () => {
    log('push.received', told);
    return calls.take(call);
  });
  if (known === null) log('push.overloaded', told);
  else if (!known.isNew) log('push.repeated', told);
  return known === null ? 'overloaded' : known.answer;
}
