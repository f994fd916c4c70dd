/** A call session of this process: its record as it is now, its legs that are connected, the end of its lease. */
import type { WheelEntry } from '../../lib/deadline-wheel.ts';
import type { CallSession, CallSide } from '../../model/call.ts';
import type { CallLeg } from '../ports/call-leg.ts';

export class LiveCall implements WheelEntry, Record<CallSide, CallLeg | null> {
  deadlineMs = 0;
  wheelNext: WheelEntry | null = null;
  wheelPrevious: WheelEntry | null = null;
  session: CallSession;
  device: CallLeg | null = null;
  bridge: CallLeg | null = null;

  constructor(session: CallSession) {
    this.session = session;
  }
}
