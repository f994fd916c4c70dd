/**
 * The plug between a bridge and the messaging app: whoever gets into the app's room implements PhoneSource, usually
 * around the vendor's call library, and names its module in BRIDGE_SOURCE. test-source.ts is one without a phone.
 */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { CallStart, Frame, PhoneState } from './media-wire.ts';

/** What the phone does, told to the bridge. */
export interface PhoneEvents {
  /** The call as the phone sees it. */
  state(state: PhoneState): void;
  /** The phone's side is over, for good; `reason` is one of docs/media-protocol.md, or `error`. */
  ended(reason: string): void;
  /** Video in any size: a size that changes is said by the frame that has it, which must be a key frame. */
  frame(frame: Frame): void;
}

/** A call that was joined. */
export interface PhoneCall {
  /** From the device to the phone. */
  take(frame: Frame): void;
  /** The next video frame is to be a key frame: ask the phone's encoder for one. Comes at most twice a second. */
  wantKeyFrame(): void;
  /** The device took the call: the phone may stop ringing. */
  answered(): void;
  /** Leaves the room. Nothing may be told to `events` behind it. */
  leave(): void;
}

export interface PhoneSource {
  /** Joins the room of a call. A rejection ends the call as `error`. */
  join(start: CallStart, events: PhoneEvents): Promise<PhoneCall>;
}

/** Loads a module that exports `source`. `path` goes by the working directory. */
export async function loadSource(path: string): Promise<PhoneSource> {
  const loaded = (await import(pathToFileURL(resolve(path)).href)) as { readonly source?: PhoneSource };
  if (loaded.source === undefined) throw new Error(`${path} exports no source: see phone-source.ts`);
  return loaded.source;
}
