/**
 * Hands a backend's message to a device that is online, and says whether the device has it. The order of checks is
 * contract: access, repeats, drain (50301), room to remember it (42901), session (40412), room at the device (42901),
 * acknowledgement (50402). Everything up to the sending happens in one turn, so no second request can slip in between.
 * Never a payload in a log.
 * Source: signal-wire.md, Sending a message.
 */
import { wallSeconds, type Clock } from '../base/clock.ts';
import { fail, succeed } from '../base/outcome.ts';
import type { DeviceDirectory } from '../actor/device-directory.ts';
import { refusal, type MessageCode, type Refusal } from '../domain/codes.ts';
import { generateMessageId } from '../domain/ids.ts';
import type { MessageRequest } from '../domain/message.ts';
import type { DeliveryResult } from '../domain/signal.ts';
import type { Log } from '../ports/log.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';
import type { SignalConnection } from '../ports/signal-connection.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { checkDeviceAccess } from './check-device-access.ts';
import type { MessageAnswer, MessageMemory } from './message-memory.ts';

export interface MessageHouse {
  readonly clock: Clock;
  readonly registry: RegistryReader;
  readonly directory: DeviceDirectory;
  readonly memory: MessageMemory;
  readonly telemetry: Telemetry;
  readonly log: Log;
  /** True while the server is being stopped: no new message is sent. */
  isDraining(): boolean;
}

/** Settles within the acknowledgement's deadline (5 s). Rejects only when a connection breaks its port's promise. */
export async function sendMessage(house: MessageHouse, request: MessageRequest): Promise<MessageAnswer> {
  const { appId, deviceId } = request;
  try {
    const denied = checkDeviceAccess(house.registry, appId, deviceId, wallSeconds(house.clock));
    if (denied !== null) return refuse(house, refusal(denied));
  } catch (error) {
    house.log.error({ err: error }, 'whose device a message is for cannot be read');
    return refuse(house, unavailable('message service unavailable'));
  }
  const known = house.memory.repeated(request);
  if (known === null) return begin(house, request);
  house.telemetry.message('repeated');
  return known;
}

function begin(house: MessageHouse, request: MessageRequest): MessageAnswer | Promise<MessageAnswer> {
  const { directory, memory } = house;
  if (house.isDraining()) return refuse(house, unavailable('this server is being stopped'));
  if (memory.isFull) return refuse(house, overload('too many messages are known'));
  const connection = directory.find(request.deviceId)?.signalConnection ?? null;
  if (connection === null) {
    const answer = refuse(house, refusal(40412));
    memory.keep(request, answer);
    return answer;
  }
  const answer = deliver(house, request, connection);
  memory.begin(request, answer);
  return answer;
}

async function deliver(
  house: MessageHouse,
  { deviceId, name, payload }: MessageRequest,
  connection: SignalConnection,
): Promise<MessageAnswer> {
  const id = generateMessageId();
  const result = await connection.deliver({ id, name, payload });
  if (result !== 'acknowledged') return refuse(house, refusals[result]);
  house.telemetry.message('acknowledged');
  return succeed({ deviceId, id, acknowledgedAtMs: house.clock.wallMs() });
}

/** A message that waits makes room within seconds, and a known one with the next second of the clock window. */
const comeAgainS = 1;

const refusals: Record<Exclude<DeliveryResult, 'acknowledged'>, Refusal<MessageCode>> = {
  unknown: refusal(50402),
  busy: overload('too many messages wait for this device'),
};

function overload(message: string): Refusal<MessageCode> {
  return { ...refusal(42901, message), retryAfterS: comeAgainS };
}

function unavailable(message: string): Refusal<MessageCode> {
  return { ...refusal(50301, message), retryAfterS: comeAgainS };
}

function refuse(house: MessageHouse, why: Refusal<MessageCode>): MessageAnswer {
  house.telemetry.message(why.code === 50402 ? 'unknown' : 'refused');
  return fail(why);
}
