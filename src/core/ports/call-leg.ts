/** A leg of a call, or an idle bridge, as the calls see it. Made and owned by the media legs. */
import type { LegCloseReason, LegMessage } from '../../model/call.ts';

export interface CallLeg {
  /** Never throws; a leg that does not read is closed by its owner, who then says that it is gone. */
  notify(message: LegMessage): void;
  /** Ends the leg from our side. The owner does not say that it is gone: who closes already knows. */
  close(reason: LegCloseReason): void;
}
