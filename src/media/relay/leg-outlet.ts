/** The outlet of a leg that takes frames, or of who takes JPEGs alone. */
import type { LegOutput, PictureOutput } from './output.ts';
import { Outlet, type OutletOwner } from './outlet.ts';

type Settled = OutletOwner['settled'];

/** `settled`: as of every outlet. */
export function outletOf(out: LegOutput | PictureOutput, settled: Settled): Outlet {
  return new Outlet(
    'sendPicture' in out
      ? { transmit: ({ payload }, sent) => out.sendPicture(payload, sent), settled }
      : { transmit: ({ header, payload }, sent) => out.send(header, payload, sent), settled },
  );
}
