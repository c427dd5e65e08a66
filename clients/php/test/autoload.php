<?php

declare(strict_types=1);

/** Stands for Composer's: the classes of the package, and the HTTP clients that Debian's packages install. */
spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, 'Relata\\')) {
        require __DIR__ . '/../src/' . substr($class, 7) . '.php';
    }
});
require_once 'GuzzleHttp/autoload.php';
