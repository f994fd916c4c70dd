/**
 * The multipart format of a picture stream. Each part is followed at once by the next delimiter, so that a reader that looks for
 * delimiters has the picture immediately. Devices receive the length of each picture. A browser shows a picture only after it has read
 * the head of the next part, whose length is unknown then: streams for people omit lengths and use a boundary that nobody can embed in a
 * picture. Source: calls-and-media.md, Legs.
 */
import { randomBytes } from 'node:crypto';

export interface PictureParts {
  readonly contentType: string;
  readonly begin: string;
  part(jpeg: Uint8Array): readonly (string | Uint8Array)[];
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

/** With its prefix at most 70 characters. Source: RFC 2046. */
const boundaryBytes = 16;

function contentTypeOf(boundary: string): string {
  return `multipart/x-mixed-replace; boundary=${boundary}`;
}
