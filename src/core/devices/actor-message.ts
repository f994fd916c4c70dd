/** What is posted to a device's actor: an event of one of its machines with what only this process can hold. */
import type { ConnectionEvent } from '../../model/state/connection-session.ts';
import type { JsonObject } from '../../model/json.ts';
import type { SignalEndReason } from '../../model/signal.ts';
import type { SleepEndReason, WakeMode } from '../../model/sleep.ts';
import type { SignalConnection } from '../ports/signal-connection.ts';
import type { SleepConnection } from '../ports/sleep-connection.ts';

export type WakeReply = (answer: SleepConnection | 40412 | 40902) => void;

/** Of the secret that the login was proven with; 32 bits, signed. */
type SecretMark = number;

type Login = { readonly kind: 'login' };
type SleepEvent = ConnectionEvent<SleepEndReason>;
type SignalEvent = ConnectionEvent<SignalEndReason>;

/** What only this process can hold: a socket, a caller to answer. */
export type ActorMessage =
  | {
      readonly to: 'sleep';
      readonly event: Extract<SleepEvent, Login>;
      readonly connection: SleepConnection;
      readonly wakeMode: WakeMode;
      readonly secretMark: SecretMark;
    }
  | { readonly to: 'sleep'; readonly event: Exclude<SleepEvent, Login> }
  | {
      readonly to: 'signal';
      readonly event: Extract<SignalEvent, Login>;
      readonly connection: SignalConnection;
      readonly media: JsonObject | null;
      readonly secretMark: SecretMark;
    }
  | { readonly to: 'signal'; readonly event: Exclude<SignalEvent, Login> }
  | { readonly to: 'wake'; readonly carriesCustomData: boolean; readonly reply: WakeReply };
