/** sharp, one picture after the other. */
import type { SourceFrame } from '../../src/model/media/picture.ts';
import { readFrames } from '../../test/pictures/sources.ts';
import { answerQuestions } from '../load/ipc.ts';
import { PictureMeter } from '../load/picture-meter.ts';
import { pictureService, type SharpProtocol } from '../load/picture-protocol.ts';
import { sharpPicture } from './sharp-picture.ts';

let frames: readonly SourceFrame[] = [];

answerQuestions<SharpProtocol>(pictureService, {
  load: (file) => {
    frames = readFrames(file.path, file);
    return frames.length;
  },
  resize: async ({ expectation, passes, quality }) => {
    const meter = new PictureMeter(expectation.output);
    for (let pass = 0; pass < passes; pass += 1)
      for (const { payload } of frames) meter.count(await sharpPicture(payload, expectation, quality));
    return meter.read();
  },
});
