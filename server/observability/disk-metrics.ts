import { databaseSize, readDiskRoom } from '../../shared/files/disk.ts';
import type { Family } from './prometheus.ts';

/** The size of a database's files, and the space on their disk if the file system reports it. */
export function diskFamilies(path: string): Family[] {
  const { main, wal } = databaseSize(path);
  const room = readDiskRoom(path);
  return [
    {
      name: 'profile_lookup_database_size_bytes',
      help: 'The database file and its write-ahead log.',
      type: 'gauge',
      samples: [
        [{ file: 'main' }, main],
        [{ file: 'wal' }, wal],
      ],
    },
    {
      name: 'profile_lookup_disk_free_bytes',
      help: "Free space on the database's disk, for the server's user.",
      type: 'gauge',
      samples: room === null ? [] : [[{}, room.freeBytes]],
    },
    {
      name: 'profile_lookup_disk_size_bytes',
      help: "The size of the database's disk.",
      type: 'gauge',
      samples: room === null ? [] : [[{}, room.totalBytes]],
    },
  ];
}
