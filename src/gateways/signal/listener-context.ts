/** The context that all connections of the signal listener share. */
import type { SignalEndReason } from '../../model/signal.ts';
import type { SignalSessions } from '../../core/ports/device-sessions.ts';
import type { SleepAdvice } from '../../protocol/signal/server-message.ts';
import type { DeviceListenerContext } from '../devices/device-connections.ts';
import type { SignalGatewaySettings } from './settings.ts';
import type { SocketCensus } from './socket-census.ts';

export interface SignalListenerContext extends DeviceListenerContext<
  SignalGatewaySettings,
  SignalSessions,
  SignalEndReason
> {
  readonly census: SocketCensus;
  sleepAdvice(): SleepAdvice;
}
