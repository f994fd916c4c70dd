/** A bridge, played in software: it stands idle or comes for one session, and reports of its call. Source: calls-and-media.md, Legs. */
import type { CallEndReason, ReportedState } from '../../model/call.ts';
import type { LegText } from '../simulator/awaited-texts.ts';
import { MediaLeg, type LegAccess } from '../simulator/media-leg.ts';

export interface BridgeLegAccess extends LegAccess {
  /** Its bearer key. */
  readonly key: string;
  /** The session it comes for; left out, it stands idle until it is given one. */
  readonly session?: string | undefined;
}

/** Will it take this call? */
export interface AssignText extends LegText {
  readonly type: 'assign';
  readonly session: string;
}

/** What it is to ask the phone for, and how it gets into the room. */
export interface StartText extends LegText {
  readonly type: 'start';
  /** Null: audio-only. */
  readonly request: {
    readonly width: number;
    readonly height: number;
    readonly rotation: number;
    readonly max_fps: number;
  } | null;
  readonly audio: { readonly format: string; readonly rate: number; readonly channels: number };
  readonly payload: string;
  readonly room: {
    readonly app_id: string;
    readonly model_id: string;
    readonly room_id: string;
    readonly session_key: string;
    readonly session_token: string;
  };
}

export class BridgeLeg extends MediaLeg {
  /** Rejects with LegRefused when the key is not taken, or there is no such session. */
  static connect(access: BridgeLegAccess): Promise<BridgeLeg> {
    const { key, session } = access;
    const query = session === undefined ? '' : `?${new URLSearchParams({ session }).toString()}`;
    return new BridgeLeg(access, `/media/v1/bridge${query}`, key).opened();
  }

  /**
   * Takes the call it is asked to take; where `session` is given, that one only, and others are refused. One that it
   * took and that went elsewhere is followed by the next it is asked to take. Rejects when the connection is gone first.
   */
  async acceptAssignment(
    session?: string,
  ): Promise<{ readonly assign: AssignText; readonly start: StartText }> {
    let taken: AssignText | null = null;
    for (;;) {
      const text: AssignText | StartText = await this.until(isAssignmentOrStart);
      if (text.type === 'start') {
        if (taken !== null) return { assign: taken, start: text };
      } else if (session === undefined || text.session === session) {
        taken = text;
        this.send({ type: 'accept' });
      } else this.refuse();
    }
  }

  /** Its answer to an assignment: another bridge may be asked. */
  refuse(): void {
    this.send({ type: 'refuse' });
  }

  report(state: ReportedState | 'ended', reason?: CallEndReason): void {
    this.send({ type: 'state', state, ...(reason !== undefined && { reason }) });
  }
}

function isAssignmentOrStart(text: LegText): text is AssignText | StartText {
  return text.type === 'assign' || text.type === 'start';
}

/** What the phone is to be asked for. */
export function requestInWords({ request, audio }: StartText): string {
  const sound = `audio ${audio.format} at ${audio.rate} Hz`;
  if (request === null) return sound;
  return `video ${request.width}×${request.height} at most ${request.max_fps} a second, ${sound}`;
}
