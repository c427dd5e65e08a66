<?php

declare(strict_types=1);

/** Replaces the autoloader of Composer. Loads the classes of the package, and the HTTP clients of Debian's packages. */
spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, 'Relata\\')) {
        require __DIR__ . '/../src/' . substr($class, 7) . '.php';
    }
});
require_once 'GuzzleHttp/autoload.php';
