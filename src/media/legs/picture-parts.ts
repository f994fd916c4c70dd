/**
 * The multipart form of a stream of pictures. Each part is closed by the next delimiter at once, so that a reader who goes
 * by delimiters has the picture when it comes and not with the one behind it. A device is told the length of each picture.
 * A browser shows a picture only when it has read the head of the next part, whose length is not known then: what is for
 * people names no lengths, and has a boundary that nobody can put into a picture. Source: calls-and-media.md, Legs.
 */
import { randomBytes } from 'node:crypto';

export interface PictureParts {
  readonly contentType: string;
  /** Before the first picture. */
  readonly begin: string;
  part(jpeg: Uint8Array): readonly (string | Uint8Array)[];
  /** Behind the last picture, or the beginning. */
  readonly end: string;
}

const pictureType = 'Content-Type: image/jpeg\r\n';

export function partsForDevices(): PictureParts {
  const boundary = 'reveille-picture';
  return {
    contentType: contentTypeOf(boundary),
    begin: `--${boundary}`,
    part: (jpeg) => [`\r\n${pictureType}Content-Length: ${jpeg.length}\r\n\r\n`, jpeg, `\r\n--${boundary}`],
    end: '--\r\n',
  };
}

export function partsForPeople(): PictureParts {
  const boundary = `reveille-${randomBytes(boundaryBytes).toString('hex')}`;
  const begin = `--${boundary}\r\n${pictureType}\r\n`;
  return {
    contentType: contentTypeOf(boundary),
    begin,
    part: (jpeg) => [jpeg, `\r\n${begin}`],
    end: `\r\n--${boundary}--\r\n`,
  };
}

/** With its name at most 70 characters, as RFC 2046 has it. */
const boundaryBytes = 16;

function contentTypeOf(boundary: string): string {
  return `multipart/x-mixed-replace; boundary=${boundary}`;
}
