import { type Share, searchForSecrets } from '../secret-search.ts';

// Run by run.ts, which starts one of them for each core: searches a share of the files that the tests have left.

declare const self: Worker;

self.onmessage = ({ data: { folder, share } }: MessageEvent<{ folder: string; share: Share }>) => {
  self.postMessage(searchForSecrets(folder, share));
};
