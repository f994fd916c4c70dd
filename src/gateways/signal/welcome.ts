/**
 * Composes the welcome of a controller: its epoch, the settings of its low-power module, and the address of call legs.
 * Source: signal-wire.md, and choices of this server where it leaves them open.
 */
import type { SessionTicket, SignalSessions } from '../../core/ports/device-sessions.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { signalHeartbeatSeconds } from '../../model/limits.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { ProductDefaults } from '../../model/product-defaults.ts';
import { encodeWelcome, type SleepAdvice } from '../../protocol/signal/server-message.ts';
import { encodeWakePacket } from '../../protocol/sleep/wake-packet.ts';

export interface WelcomeSources {
  /** `host:port` of the device's sleep servers, in the order to try. */
  sleepServers(deviceId: DeviceId): readonly string[];
  /** URL of the media listener, `ws://host:port` or `wss://host:port`; null: unknown. */
  mediaUrl(): string | null;
}

interface WelcomeContext extends WelcomeSources {
  readonly sessions: Pick<SignalSessions, 'defaultsFor'>;
}

/** JSON text, or the error if the defaults of the device's product cannot be read. `serverTime`: whole Unix seconds. */
export function composeWelcome(
  context: WelcomeContext,
  ticket: SessionTicket,
  epoch: number,
  serverTime: number,
): Result<string, unknown> {
  try {
    const sleep = sleepAdvice(
      context.sleepServers(ticket.deviceId),
      context.sessions.defaultsFor(ticket) ?? {},
    );
    const mediaUrl = context.mediaUrl();
    return succeed(
      encodeWelcome({
        epoch,
        heartbeat_s: signalHeartbeatSeconds,
        server_time: serverTime,
        sleep,
        ...(mediaUrl !== null && { media: { url: mediaUrl } }),
      }),
    );
  } catch (error) {
    return fail(error);
  }
}

const wakeupPacket = encodeWakePacket(null).toString('hex');
/** The packet without the two bytes of custom data. */
const wakePattern = wakeupPacket.slice(0, -4);

const usualHeartbeatSeconds = 50;
const usualRetry = { min_s: 2, max_s: 300, jitter: 0.5 };

function sleepAdvice(ownServers: readonly string[], defaults: ProductDefaults): SleepAdvice {
  const { heartbeat_s = usualHeartbeatSeconds, sleep = {} } = defaults;
  const { servers = ownServers, retry = usualRetry } = sleep;
  return {
    servers,
    heartbeat_s,
    heartbeat_bytes: 64,
    wake_pattern: wakePattern,
    wakeup_packet: wakeupPacket,
    retry,
  };
}
