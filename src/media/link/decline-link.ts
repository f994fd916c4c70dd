/** A media process that comes where it is not wanted is told why, and that is all that it is told. */
import { finished, type Duplex } from 'node:stream';
import type { Clock } from '../../lib/clock.ts';
import { linkSilenceMsMax } from '../../model/limits.ts';
import { encodeLinkFrame } from '../../protocol/media-link/link-frame.ts';
import { linkVersion, type ServerMessage } from '../../protocol/media-link/link-message.ts';

/** Hangs up behind the sentence, and cuts a peer that does not take it. Never throws. */
export function declineLink(link: Duplex, clock: Clock, sentence: string): void {
  const cut = clock.after(linkSilenceMsMax, () => link.destroy());
  finished(link, () => {
    cut();
    link.destroy();
  });
  const declined: ServerMessage = { kind: 'declined', version: linkVersion, sentence };
  link.resume().end(encodeLinkFrame(declined));
}
