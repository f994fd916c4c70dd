/** What those who show a call to people need of the house, and what they tell of it. */
import type { CallDirectory } from '../../core/calls/call-directory.ts';
import type { SessionId } from '../../model/ids.ts';
import type { ViewerTickets, WatchKeys } from '../../core/calls/viewer-keys.ts';
import { encodeCall, type CallJson } from '../admin/call-json.ts';
import type { MediaView } from '../../model/picture.ts';
import type { MediaAddress } from '../../protocol/media-link/media-values.ts';
import { encodeMediaView, type MediaViewJson } from './media-view-json.ts';

export interface WatchDeps {
  readonly calls: Pick<CallDirectory, 'find' | 'hasDevice' | 'hasBridge'>;
  readonly media: MediaProcess;
  /** Of pictures. */
  readonly tickets: Pick<ViewerTickets, 'issue'>;
  /** Of pages: a set of their own, so that neither opens the other. */
  readonly pageTickets: Pick<ViewerTickets, 'issue' | 'take'>;
  /** Of pages that are open. */
  readonly keys: Pick<WatchKeys, 'issue' | 'find'>;
  /** By what people reach the ops listener, and the media listener, such as `https://media.example:8083`. */
  opsOrigin(): string;
  mediaOrigin(): string;
}

/** The media process as it is asked about a call. */
export interface MediaProcess {
  /** Null: there is none, or it does not listen yet. */
  readonly address: MediaAddress | null;
  view(session: SessionId): Promise<MediaView | null>;
}

export interface CarriedCallJson {
  readonly call: CallJson;
  /** Null: none of its legs has come to the media process, or that does not answer. */
  readonly view: MediaViewJson | null;
}

/** Null: no such session lives. */
export async function describeCarriedCall(
  { calls, media }: Pick<WatchDeps, 'calls' | 'media'>,
  sessionId: SessionId,
): Promise<CarriedCallJson | null> {
  const view = await media.view(sessionId);
  const session = calls.find(sessionId);
  if (session === null) return null;
  const legs = { device: calls.hasDevice(sessionId), bridge: calls.hasBridge(sessionId) };
  return { call: encodeCall(session, legs), view: view === null ? null : encodeMediaView(view) };
}
