/** The ways in which a signal connection ends, by the reason of its session's end. Source: signal-wire.md, Close codes. */
import type { SignalEndReason } from '../../model/signal.ts';
import { signalCloses, type SignalClose } from '../../protocol/signal/server-message.ts';

/** How a connection ends: with these words, cut without one, or it is gone already. */
export type Farewell = SignalClose | 'cut' | 'gone';

export const farewells: Readonly<Record<SignalEndReason, Farewell>> = {
  peer_closed: 'cut',
  bye: signalCloses.bye,
  reset: 'cut',
  heartbeat_timeout: signalCloses.heartbeatTimeout,
  malformed: signalCloses.malformed,
  flood: signalCloses.flood,
  replaced: signalCloses.replaced,
  kicked: signalCloses.kicked,
  drain: signalCloses.draining,
  node_lost: 'cut',
};
